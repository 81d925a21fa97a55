import { connect } from 'node:net'

/** What a server sent on one connection. */
export interface Exchange {
  readonly answer: Buffer
  /** Whether the server closed the connection. */
  readonly isClosed: boolean
}

/** Time without new bytes after which the answer counts as whole. */
const QUIET_MS = 25
/** Most bytes of an answer that are kept. */
const MAX_BYTES = 256 * 1024

/** Sends parts on a new connection and takes what comes back. Rejects when the port takes no connection. */
export function exchange(
  port: number,
  parts: readonly Uint8Array[],
  maxMs: number,
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    const received: Buffer[] = []
    let bytes = 0
    let quiet: NodeJS.Timeout | undefined
    const end = (isClosed: boolean): void => {
      clearTimeout(quiet)
      clearTimeout(limit)
      socket.destroy()
      resolve({ answer: Buffer.concat(received), isClosed })
    }
    const limit = setTimeout(() => end(false), maxMs)
    let isOpen = false
    socket.on('connect', () => {
      isOpen = true
      for (const part of parts) socket.write(part)
    })
    socket.on('data', (chunk) => {
      bytes += chunk.length
      if (bytes <= MAX_BYTES) received.push(chunk)
      clearTimeout(quiet)
      quiet = setTimeout(() => end(false), QUIET_MS)
    })
    socket.on('close', () => end(true))
    socket.on('error', (error) => {
      if (isOpen) return
      clearTimeout(limit)
      reject(error)
    })
  })
}
