import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool } from '../maven-classpath.ts'
import { JAVA_PACKAGE } from './process.ts'

/** A key store for a TLS listener at 127.0.0.1, and the certificate that clients trust. */
export interface JavaKeyStore {
  readonly path: string
  readonly password: string
  /** The certificate, PEM. */
  readonly certificate: string
}

/** Creates a key pair with a self-signed certificate. */
export async function makeKeyStore(): Promise<JavaKeyStore> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-keys-'))
  const path = join(folder, 'broker.p12')
  const pem = join(folder, 'broker.pem')
  const password = 'changeit'
  const store = ['-keystore', path, '-storepass', password, '-alias', 'broker']
  await runTool('keytool', JAVA_PACKAGE, [
    '-genkeypair',
    ...store,
    ...['-storetype', 'PKCS12', '-keyalg', 'EC', '-dname', 'CN=localhost', '-validity', '10'],
    ...['-ext', 'SAN=ip:127.0.0.1,dns:localhost'],
  ])
  await runTool('keytool', JAVA_PACKAGE, ['-exportcert', ...store, '-rfc', '-file', pem])
  return { path, password, certificate: await readFile(pem, 'utf8') }
}
