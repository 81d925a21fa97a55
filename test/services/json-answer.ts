import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { json } from 'node:stream/consumers'
import type { ConnectionOptions } from 'node:tls'

/** The JSON that a URL answers: to a GET, or to a POST of a body. `tls`: of an encrypted port. */
export async function jsonAnswer(
  url: string,
  {
    body,
    tls,
  }: { readonly body?: object | undefined; readonly tls?: ConnectionOptions | undefined },
): Promise<unknown> {
  const send = url.startsWith('https:') ? requestTls : request
  const headers = { 'content-type': 'application/json' }
  const asked = send(url, { ...tls, ...(body === undefined ? {} : { method: 'POST', headers }) })
  return await new Promise((resolve, reject) => {
    asked.on('error', reject)
    asked.on('response', (answer) => json(answer).then(resolve, reject))
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
