import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const openssl = (...args: string[]) => promisify(execFile)('openssl', args)

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** Whether this machine has openssl; else the reason why tests with TLS are skipped is printed. */
export async function hasOpenssl(): Promise<boolean> {
  try {
    await openssl('version')
    return true
  } catch (error) {
    console.log(`skipped: openssl cannot make certificates here (${String(error)})`)
    return false
  }
}

/**
 * Writes an authority (`ca.crt`, `ca.key`) into a folder, and two certificates for 127.0.0.1 and localhost that
 * it has signed: `server.crt` and `client.crt`, with `server.key` and `client.key`. No authority has signed
 * `foreign.crt` with `foreign.key`.
 */
export async function writeCertificates(folder: string): Promise<void> {
  const at = (name: string): string => join(folder, name)
  for (const [name, owner] of [
    ['ca', 'test authority'],
    ['foreign', 'client'],
  ]) {
    await openssl(
      ...['req', '-x509', ...NEW_KEY, '-subj', `/CN=${owner}`, '-days', '2'],
      ...['-keyout', at(`${name}.key`), '-out', at(`${name}.crt`)],
    )
  }
  writeFileSync(at('san'), 'subjectAltName=IP:127.0.0.1,DNS:localhost')
  for (const name of ['server', 'client']) {
    await openssl(
      ...['req', ...NEW_KEY, '-subj', `/CN=${name}`],
      ...['-keyout', at(`${name}.key`), '-out', at(`${name}.csr`)],
    )
    await openssl(
      ...['x509', '-req', '-in', at(`${name}.csr`), '-CA', at('ca.crt'), '-CAkey', at('ca.key')],
      ...['-CAcreateserial', '-days', '2', '-extfile', at('san'), '-out', at(`${name}.crt`)],
    )
  }
}
