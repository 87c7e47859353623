// The addresses of the views, after the `#`: a path, and what is chosen in the view as parameters.

const part = encodeURIComponent;

export const groupLink = (groupId) => `#/groups/${part(groupId)}`;
export const generationLink = (groupId, id) => `${groupLink(groupId)}/generations/${id}`;
export const memberLink = (groupId, memberId) => `${groupLink(groupId)}/members/${part(memberId)}`;
export const topicLink = (topic) => `#/topics/${part(topic)}`;

// The path of the present view as its parts, and its parameters.
export function here() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  return { parts: path.split("/").slice(1).map(decoded), parameters: new URLSearchParams(query) };
}

// A person may type anything; what cannot be decoded stands for itself.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// A link with these parameters beside those of the present view; an empty value removes one.
export function link(address, changes = {}) {
  const parameters = here().parameters;
  for (const [key, value] of Object.entries(changes)) {
    if (value === "" || value === null) parameters.delete(key);
    else parameters.set(key, value);
  }
  const query = parameters.toString();
  return query ? `${address}?${query}` : address;
}

export const sameView = (changes) => link(location.hash.split("?")[0] || "#/", changes);
