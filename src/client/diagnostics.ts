import { channel } from 'node:diagnostics_channel'

/**
 * Channels of `node:diagnostics_channel` that report what the client does. Without a subscriber they cost
 * nothing. Messages are plain objects: `{ host, port, server?, error? }`, for `retry` `{ code, attempt, waitMs }`,
 * for `routing` the table.
 */
export const channels = {
  connected: channel('weir:client:connected'),
  disconnected: channel('weir:client:disconnected'),
  routing: channel('weir:client:routing'),
  retry: channel('weir:client:retry'),
} as const
