import type { Cluster } from '../../cluster/rest/port/cluster.ts'
import { RestServer, type RestServerOptions } from '../../cluster/rest/server/server.ts'
import { systemClock } from '../../core/clock.ts'
import { httpAccess } from '../../http/access/people/http-access.ts'
import {
  type QueryAccessOptions,
  queryAccessOf,
  watchQueryAccess,
} from '../../jobs/query-access.ts'

/** Options of `openRest`. */
export interface OpenRestOptions extends Pick<RestServerOptions, 'host' | 'ports'> {
  readonly cluster: Cluster
  /** Who may connect: the same as to the query port. */
  readonly access: QueryAccessOptions
}

/**
 * Opens a REST port with the tokens and the certificate of the command line, and follows changes of the tokens
 * file. Throws as `queryAccessOf` and `RestServer.start`.
 */
export async function openRest(
  options: OpenRestOptions,
): Promise<AsyncDisposable & Pick<RestServer, 'url'>> {
  const { cluster, host, ports, access } = options
  const { access: share, tls } = await queryAccessOf(
    { ...access, host, what: 'the REST interface' },
    undefined,
  )
  const control = httpAccess(share, systemClock, access.audit)
  const rest = await RestServer.start({
    cluster,
    access: control,
    clock: systemClock,
    host,
    ports,
    tls,
  })
  const stopWatching = watchQueryAccess(access, share, (changed) => control.replace(changed))
  return {
    url: rest.url,
    [Symbol.asyncDispose]: async () => {
      stopWatching()
      await rest[Symbol.asyncDispose]()
    },
  }
}
