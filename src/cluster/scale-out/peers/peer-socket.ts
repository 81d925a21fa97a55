import { once } from 'node:events'
import { readdir, rm, stat } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { makeOwnFolder, ownTemporaryFolder } from '../../../files/own-folder.ts'
import { isRunning, processIdentity } from '../../../files/running-process.ts'
import { peerAddress } from './peer-address.ts'

/** Sockets of processes that have ended are deleted when they are so old, ms. */
const LEFT_MS = 24 * 3600 * 1000

/** Most processes of one machine that look at one socket. */
const MOST_PEERS = 1024

/**
 * A socket by which the other processes of this machine see that this one lives: it says its member id, and reads
 * nothing. Its file belongs to the user of the process, and no port is open.
 */
export class PeerSocket implements AsyncDisposable {
  /** Where others find it, for the data of the member. */
  readonly address: string
  private readonly path: string
  private readonly server: Server
  private readonly peers = new Set<Socket>()
  private memberId: string | undefined

  private constructor(path: string, server: Server) {
    this.path = path
    this.address = peerAddress(path)
    this.server = server
    server.on('connection', (peer) => this.greet(peer))
  }

  /** Opens a socket at a path of a file that does not exist. Rejects as `listen` of Node. */
  static async open(path: string): Promise<PeerSocket> {
    const server = createServer()
    server.maxConnections = MOST_PEERS
    server.listen(path)
    await once(server, 'listening')
    server.unref()
    return new PeerSocket(path, server)
  }

  /** Says to all that look, and to those who come, under which id this process is in the group. */
  announce(memberId: string): void {
    if (memberId === this.memberId) return
    this.memberId = memberId
    for (const peer of this.peers) peer.write(`${memberId}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close()
    for (const peer of this.peers) peer.destroy()
    await rm(this.path, { force: true })
  }

  private greet(peer: Socket): void {
    this.peers.add(peer)
    peer.unref()
    peer.on('close', () => this.peers.delete(peer))
    peer.on('error', () => peer.destroy())
    peer.on('data', () => peer.destroy())
    if (this.memberId !== undefined) peer.write(`${this.memberId}\n`)
  }
}

/**
 * Opens the socket of this process in the folder of this user's sockets. Undefined where there can be none: the others
 * then find out by its session that it is gone. `unique`: a part of its name that no other socket has.
 */
export async function openPeerSocket(
  unique: string,
  nowMs: number,
): Promise<PeerSocket | undefined> {
  const folder = ownTemporaryFolder('weir-peers')
  // Windows has pipes in place of socket files.
  if (process.platform === 'win32' || !makeOwnFolder(folder)) return undefined
  await sweep(folder, nowMs)
  const { pid, processStart } = processIdentity(process.pid)
  const path = join(folder, `${pid}-${processStart}-${unique}`)
  return await PeerSocket.open(path).catch(() => undefined)
}

/** Deletes the sockets that killed processes have left. */
async function sweep(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, processStart = ''] = /^(\d+)-(\d*)-/.exec(name) ?? []
    if (pid === undefined || isRunning({ pid: Number(pid), processStart })) continue
    const path = join(folder, name)
    const { mtimeMs = nowMs } = (await stat(path).catch(() => undefined)) ?? {}
    if (nowMs - mtimeMs > LEFT_MS) await rm(path, { force: true })
  }
}
