// Times and lengths of time in words. Times are those of the browser's time zone unless UTC is chosen.

let isUtc = localStorage.getItem("zone") === "utc";
let clock, day, minutes;

const format = (options) => new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", timeZone: isUtc ? "UTC" : undefined, ...options });

function makeFormats() {
  clock = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
  minutes = format({ hour: "2-digit", minute: "2-digit" });
  day = format({ day: "numeric", month: "short" });
}

makeFormats();

export const usesUtc = () => isUtc;
export const zoneName = () => (isUtc ? "UTC" : `local time (${Intl.DateTimeFormat().resolvedOptions().timeZone})`);

export function useUtc(value) {
  isUtc = value;
  localStorage.setItem("zone", value ? "utc" : "local");
  makeFormats();
}

const isMissing = (ms) => ms === null || ms === undefined || Number.isNaN(new Date(ms).getTime());

export const time = (ms) => (isMissing(ms) ? "" : clock.format(ms));
export const dateTime = (ms) => (isMissing(ms) ? "" : `${day.format(ms)} ${clock.format(ms)}`);
export const utc = (ms) => (isMissing(ms) ? "" : `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`);
// The time of day, with the day where that is not the day of `now`.
export const shortTime = (ms, now) => (isMissing(ms) ? "" : day.format(ms) === day.format(now) ? clock.format(ms) : `${day.format(ms)} ${minutes.format(ms)}`);

export function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const hours = Math.floor(seconds / 3600);
  return hours < 48 ? `${hours} h ${Math.floor((seconds % 3600) / 60)} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function ago(ms, now) {
  if (ms === null || ms === undefined) return "";
  const past = Math.max(0, now - ms);
  return past < 5000 ? "just now" : `${duration(past)} ago`;
}

const UTC_TIME = /\b(\d\d):(\d\d):(\d\d) UTC\b/g;
const DAY_MS = 86400000;

// Sentences come with times of day in UTC. Each becomes one of the chosen zone; the day is the one closest to `nearMs`.
export function inZone(sentence, nearMs) {
  if (isUtc || isMissing(nearMs)) return sentence;
  return sentence.replace(UTC_TIME, (whole, hours, minute, seconds) => {
    const ofDay = (Number(hours) * 3600 + Number(minute) * 60 + Number(seconds)) * 1000;
    const days = Math.round((nearMs - ofDay) / DAY_MS);
    return time(days * DAY_MS + ofDay);
  });
}
