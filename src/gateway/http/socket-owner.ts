import type { Socket } from 'node:net'
import { RequestOwner } from '../../serving/port/request-owner.ts'

const owners = new WeakMap<Socket, RequestOwner>()

/** Owner of the requests of a connection: it is gone when the connection is closed. */
export function ownerOf(socket: Socket): RequestOwner {
  const known = owners.get(socket)
  if (known !== undefined) return known
  const owner = new RequestOwner()
  owners.set(socket, owner)
  if (socket.destroyed) owner.leave()
  else socket.once('close', () => owner.leave())
  return owner
}
