import { hostname } from 'node:os'
import { rootCertificates } from 'node:tls'
import type { ScaledJobControl } from '../../cluster/scale-out/operations/scaled-job-control.ts'
import type { OpenedRest } from '../../cluster/scale-out/start.ts'
import { systemClock } from '../../core/clock.ts'
import { isLoopback } from '../../http/access/listener.ts'
import { httpAccess } from '../../http/access/people/http-access.ts'
import {
  type QueryAccessOptions,
  queryAccessOf,
  tlsFilesOf,
  watchQueryAccess,
} from '../../jobs/query-access.ts'
import { type ConfigurationMap, parseConfiguration } from '../../runtime/configuration/keys.ts'
import { type CommandIo, UsageError } from '../command/command.ts'
import { serveRestOf } from './rest.ts'

/** Hosts that stand for all addresses of a machine, and are none of them. */
const ALL_ADDRESSES = ['0.0.0.0', '::']
const ONE_TOKEN =
  'the processes of a job ask each other with one token: give --token-file FILE, too, the same in all of them'

/** Options of the REST interface of a process. */
export interface ScaleOutRestOptions {
  /** Name of the command, which begins its messages. */
  readonly name: string
  readonly io: CommandIo
  readonly access: QueryAccessOptions
  readonly configuration: ConfigurationMap
  /** Called with the URL by which others reach it. */
  readonly opened: (url: string) => void
}

/**
 * Opens the REST interface of a process of a job in many, which asks the others of the job; undefined if `rest.enabled` is
 * false, or if no port was named and the usual ones are all taken. Throws UsageError, and as `serveRest`.
 */
export async function serveScaleOutRest(
  control: ScaledJobControl,
  { name, io, access, configuration, opened }: ScaleOutRestOptions,
): Promise<OpenedRest | undefined> {
  const settings = parseConfiguration(configuration)
  const { access: share } = await queryAccessOf(
    { ...access, what: 'the REST interface' },
    undefined,
  )
  if (share.needsToken && access.token === undefined) throw new UsageError(ONE_TOKEN)
  const http = httpAccess(share, systemClock, access.audit)
  const source = { control, access: http, configuration, settings, port: undefined }
  const ownJobs = async () => [await control.ownSnapshot()]
  const rest = await serveRestOf({ ...source, ownJobs }, { name, io })
  if (rest === undefined) return undefined
  const stopWatching = watchQueryAccess(access, share, (changed) => http.replace(changed))
  const { address } = settings.rest
  const tls = await tlsFilesOf(settings.restTls, 'rest.tls')
  const url = ALL_ADDRESSES.includes(address) ? withHost(rest.url, hostname()) : rest.url
  opened(url)
  return {
    url,
    isLoopback: isLoopback(address),
    // All processes may have one certificate, which signs itself, or those of one authority.
    tls:
      tls === undefined
        ? undefined
        : {
            ...tls,
            ca: [...rootCertificates, tls.cert, ...(tls.ca === undefined ? [] : [tls.ca])],
          },
    [Symbol.asyncDispose]: async () => {
      stopWatching()
      await rest[Symbol.asyncDispose]()
    },
  }
}

function withHost(url: string, host: string): string {
  const named = new URL(url)
  named.hostname = host
  return named.origin
}
