// The colours of causes and states: Okabe and Ito's palette, which stays distinct for colour-blind readers.

const PALETTE = ["#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#8C8C00", "#7B61C4"];

const CAUSES = {
  new_member: [2, "a member joined"],
  member_left: [1, "a member left"],
  session_expired: [5, "a session expired"],
  rebalance_timeout: [0, "a member did not rejoin in time"],
  sync_timeout: [0, "a member did not sync in time"],
  metadata_changed: [4, "a subscription changed"],
  leader_rejoined: [4, "the leader rejoined"],
  member_rejoined: [6, "a member rejoined"],
  static_replaced: [3, "a static member was replaced"],
  group_too_large: [7, "the group is too large"],
  assignment_too_large: [7, "the assignment is too large"],
  admin: [7, "an administrator"],
};

export const causeWords = (cause) => (CAUSES[cause] || [0, cause.replaceAll("_", " ") || "unknown"])[1];
export const causeColour = (cause) => (CAUSES[cause] ? PALETTE[CAUSES[cause][0]] : "#8a919c");

export function memberColours(names) {
  return new Map([...new Set(names)].sort().map((name, index) => [name, PALETTE[index % PALETTE.length]]));
}

export const GAP_COLOUR = "#D4000F";
export const EMPTY_COLOUR = "#8a919c";

const STATES = { Stable: "good", Empty: "quiet", Dead: "quiet", PreparingRebalance: "warn", CompletingRebalance: "warn" };
export const stateClass = (state) => STATES[state] || "quiet";
