import { get } from 'node:http'
import { waiting } from '../../run/waits.ts'

/** Name of the variable with the address of the host of shared services. */
export const HOST_VARIABLE = 'TEST_SERVICES'

/** A service that a test file has until it gives it back. */
export interface Lease<Access> {
  readonly access: Access
  giveBack(): void
}

/** Borrows a service of a kind, which the host starts if none is free. */
export async function lease<Access>(
  kind: 'kafka' | 'hdfs' | 's3' | 'browser',
): Promise<Lease<Access>> {
  return await waiting('server', () => borrow<Access>(`${hostUrl()}/${kind}`))
}

/** One of the places for files that run, as soon as one is free. It is no service: nobody notes the wait. */
export function leaseCore(): Promise<Lease<object>> {
  return borrow(`${hostUrl()}/core`)
}

function hostUrl(): string {
  const host = process.env[HOST_VARIABLE]
  if (host === undefined) throw new Error('shared services have no host: run npm test')
  return host
}

function borrow<Access>(url: string): Promise<Lease<Access>> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        if (response.statusCode !== 200 || !text.endsWith('\n')) return
        resolve({ access: JSON.parse(text) as Access, giveBack: () => request.destroy() })
      })
      response.on('end', () => reject(new Error(text)))
    })
    // An error after the lease means that it has ended.
    request.on('error', reject)
  })
}
