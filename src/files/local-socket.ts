import { join } from 'node:path'
import { makeOwnFolder, ownTemporaryFolder } from './own-folder.ts'

/**
 * Path of the socket by which programs of this user reach the process that listens on a port of this machine, also when
 * that port is full; undefined where there is no folder that only this user can use, or the system has no such sockets. A
 * port with TLS has another one: who asks it in plain HTTP does not come in.
 */
export function localSocketPath(host: string, port: number, hasTls: boolean): string | undefined {
  if (process.platform === 'win32') return undefined
  const folder = ownTemporaryFolder('weir-sockets')
  if (!makeOwnFolder(folder)) return undefined
  return join(folder, `${host.replaceAll(/[^0-9A-Za-z.]/g, '_')}-${port}${hasTls ? '-tls' : ''}`)
}
