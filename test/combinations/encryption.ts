import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { hasOpenssl, writeCertificates } from '../services/certificates.ts'

/** Certificates of a machine whose ports are encrypted, and let in only clients with a certificate of theirs. */
export class Encryption {
  private readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Writes the certificates into a folder; undefined where openssl is missing, which is printed. */
  static async in(folder: string): Promise<Encryption | undefined> {
    if (!(await hasOpenssl())) return undefined
    await writeCertificates(folder)
    return new Encryption(folder)
  }

  /** Flags of a command with a port. */
  get ofServer(): readonly string[] {
    return this.flags('server', 'server')
  }

  /** Configuration of the REST port of a job that no JobManager has. */
  get ofRest(): readonly string[] {
    const files = Object.entries(filesOf('server'))
    return files.flatMap(([key, name]) => ['-D', `rest.tls.${key}=${join(this.folder, name)}`])
  }

  /** Flags of a command that asks the port of queries, or that of the JobManager. */
  of(port: 'query' | 'jobmanager'): readonly string[] {
    return this.flags(port, 'client')
  }

  /** Options of the connections of a client. */
  get ofClient(): ConnectionOptions {
    const [ca, cert, key] = ['ca.crt', 'client.crt', 'client.key'].map((name) =>
      readFileSync(join(this.folder, name)),
    )
    return { ca, cert, key, servername: 'localhost' }
  }

  private flags(port: string, owner: string): readonly string[] {
    return Object.entries(filesOf(owner)).flatMap(([flag, name]) => [
      `--${port}-tls-${flag}`,
      join(this.folder, name),
    ])
  }
}

/** Files of an owner by what they are. */
function filesOf(owner: string): Readonly<Record<'ca' | 'cert' | 'key', string>> {
  return { ca: 'ca.crt', cert: `${owner}.crt`, key: `${owner}.key` }
}
