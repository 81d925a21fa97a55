import { channel } from 'node:diagnostics_channel'

/**
 * Channels of `node:diagnostics_channel` that say what the client does; free when nobody listens.
 * Messages are plain objects: `{ host, port, server?, error? }`, for `retry` `{ code, attempt, waitMs }`,
 * for `routing` the table.
 */
export const channels = {
  connected: channel('weir:client:connected'),
  disconnected: channel('weir:client:disconnected'),
  routing: channel('weir:client:routing'),
  retry: channel('weir:client:retry'),
} as const
