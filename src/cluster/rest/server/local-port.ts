import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import type { RequestListener, Server } from 'node:http'
import { localSocketPath } from '../../../files/local-socket.ts'
import { createServer } from '../../../http/builtin.ts'
import { REQUEST_TIMES } from '../../../http/connection-share.ts'

/** Connections of programs of this user at a time. */
const MOST_CONNECTIONS = 64

/**
 * A second way into a REST port, for programs of the same user on this machine: the commands that stop a job must reach it
 * also while strangers hold every connection of the port. A socket with mode 0600 in a folder of the user. It asks for the
 * same tokens as the port.
 */
export class LocalPort implements Disposable {
  private readonly server: Server
  private readonly path: string

  private constructor(server: Server, path: string) {
    this.server = server
    this.path = path
  }

  /** Opens the socket of a port; undefined where that is not possible, which is no reason not to start. */
  static async open(
    {
      host,
      port,
      hasTls,
    }: { readonly host: string; readonly port: number; readonly hasTls: boolean },
    handle: RequestListener,
  ) {
    const path = localSocketPath(host, port, hasTls)
    if (path === undefined) return undefined
    // One that is left belongs to a process that has ended: this one has the port.
    rmSync(path, { force: true })
    const server = createServer(REQUEST_TIMES, handle)
    server.maxConnections = MOST_CONNECTIONS
    try {
      await once(server.listen(path), 'listening')
      chmodSync(path, 0o600)
    } catch {
      server.close()
      return undefined
    }
    // It keeps no process alive that has ended its work.
    server.unref()
    return new LocalPort(server, path)
  }

  [Symbol.dispose](): void {
    this.server.close()
    this.server.closeAllConnections()
    rmSync(this.path, { force: true })
  }
}
