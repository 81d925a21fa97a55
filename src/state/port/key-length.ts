/** Longest key in bytes of a vector state whose descriptor gives no other: a UUID and more. */
export const DEFAULT_MAX_KEY_BYTES = 64
