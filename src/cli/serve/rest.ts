import { type ItemTitles, parseItemTitles } from '../../cluster/rest/job/item-titles.ts'
import { ServedJobControl } from '../../cluster/rest/job/served-job-control.ts'
import { singleJobCluster } from '../../cluster/rest/job/single-job-cluster.ts'
import type { Cluster } from '../../cluster/rest/port/cluster.ts'
import type { JobControl } from '../../cluster/rest/port/job-control.ts'
import { RestServer } from '../../cluster/rest/server/server.ts'
import { systemClock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import type { AccessControl } from '../../http/access/control.ts'
import { decideListener } from '../../http/access/listener.ts'
import { tlsFilesOf } from '../../jobs/query-access.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import type { JobConfiguration } from '../../runtime/configuration/configuration.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import { textOfFile } from '../command/text-file.ts'
import { packageVersion } from '../text/package-version.ts'

/** What the messages of a refusal name. */
const SETTINGS = {
  tls: '-D rest.tls.cert=FILE and -D rest.tls.key=FILE',
  insecure: '-D rest.insecure-listener=true',
}

/** Options of the REST interface of a job. */
export interface ServeRestOptions {
  /** Name of the command, which begins its messages. */
  readonly name: string
  readonly io: CommandIo
  /** Titles of items, for recommendations. @default none */
  readonly titles?: ItemTitles
}

/** The titles in the file of `--titles`; none without it. Throws UsageError. */
export function titlesOf(flags: Flags): ItemTitles {
  const file = flags.optional('titles')
  return file === undefined ? new Map() : parseItemTitles(textOfFile('--titles', file))
}

/**
 * Opens the REST interface of a job that runs in this process, with the tokens of its query port and the
 * certificate of `rest.tls.*`; undefined if `rest.enabled` is false, or if no port was named and the usual ones
 * are all taken. Throws CONNECTOR_FAILED for a named port that is taken, INVALID_ARGUMENT for an address that
 * other machines reach without TLS and tokens, and for a file that cannot be read.
 */
export async function serveRest(
  job: ServedJob,
  { name, io, titles }: ServeRestOptions,
): Promise<RestServer | undefined> {
  const { access, configuration, port } = job
  const control = new ServedJobControl(job, systemClock, titles)
  const settings = job.execution.configuration
  return await serveRestOf({ control, access, configuration, port, settings }, { name, io })
}

/** A job as its REST interface needs it. */
export interface RestSource {
  readonly control: JobControl
  /** Who may use it: the same as the query port. */
  readonly access: AccessControl
  /** Query port; undefined for a job without one. */
  readonly port: number | undefined
  readonly configuration: Readonly<Record<string, string>>
  readonly settings: Pick<JobConfiguration, 'rest' | 'restTls'>
  /** `Cluster.ownJobs`. @default none */
  readonly ownJobs?: NonNullable<Cluster['ownJobs']>
}

/** Opens the REST interface of a source, as `serveRest`. */
export async function serveRestOf(
  { control, access, configuration, port, settings, ownJobs }: RestSource,
  { name, io }: Pick<ServeRestOptions, 'name' | 'io'>,
): Promise<RestServer | undefined> {
  const { rest, restTls } = settings
  if (!rest.isEnabled) return undefined
  const tls = await tlsFilesOf(restTls, 'rest.tls')
  const { warning } = decideListener({
    what: 'the REST interface',
    host: rest.address,
    hasTls: tls !== undefined,
    hasTokens: access.needsToken,
    isInsecureAllowed: rest.isInsecureAllowed,
    settings: SETTINGS,
  })
  if (warning !== undefined) io.err(`${name}: warning: ${warning}`)
  try {
    return await RestServer.start({
      cluster: {
        ...singleJobCluster({
          version: packageVersion(),
          job: control,
          configuration,
          queryPort: port,
        }),
        ...(ownJobs === undefined ? {} : { ownJobs }),
      },
      access,
      clock: systemClock,
      host: rest.address,
      ports: rest.ports,
      tls,
    })
  } catch (error) {
    if (rest.ports !== undefined || !isWeirError(error, 'CONNECTOR_FAILED')) throw error
    io.err(`${name}: warning: no REST interface: ${error.message}`)
    return undefined
  }
}
