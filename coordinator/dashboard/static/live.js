// What the server pushes: which groups changed, and how much has been read.

const listeners = new Set();
let status = { newest_ms: 0, progress: { read: 0, total: 0, is_live: false, is_following: false, has_events: true, problem: "" } };
let connected = false;

// Of tables alone nothing is known of what came after their newest event.
export const now = () => (status.progress.is_following || !status.newest_ms ? Math.max(status.newest_ms, Date.now()) : status.newest_ms);
export const listen = (listener) => { listeners.add(listener); return () => listeners.delete(listener); };

// Resolves when the first message has told what time it is for the server, or when there is none to be had.
export function connect() {
  return new Promise((resolve) => {
    const source = new EventSource("/api/events");
    source.onopen = () => { connected = true; tell({ groups: [] }); };
    source.onerror = () => { connected = false; tell({ groups: [] }); resolve(); };
    source.onmessage = (message) => {
      take(JSON.parse(message.data));
      tell(status);
      resolve();
    };
  });
}

export function take(told) {
  status = told;
}

function tell(message) {
  words();
  for (const listener of [...listeners]) listener(message);
}

function words() {
  const element = document.getElementById("status");
  const { read, total, is_live: isLive, is_following: isFollowing, has_events: hasEvents, problem } = status.progress;
  element.classList.toggle("bad", !connected || problem !== "");
  if (!connected) element.textContent = "not connected: trying again";
  else if (problem) element.textContent = problem;
  else if (isLive && !hasEvents) element.textContent = "live, lag alone";
  else if (isLive) element.textContent = isFollowing ? "live" : "all that the tables hold";
  else element.textContent = total ? `reading: ${Math.floor((100 * read) / total)} % of ${total.toLocaleString("en")} records` : "reading";
}
