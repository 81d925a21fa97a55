import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { placeInFolder } from '../../connectors/file/list.ts'
import { parseFilesUrl } from '../../core/storage-url.ts'
import { parseWebHdfsUrl } from '../../files/webhdfs/address.ts'
import { WebHdfsClient } from '../../files/webhdfs/client.ts'
import { type Flags, UsageError } from '../command/command.ts'

/** A folder for what Spark writes, as this process and as Spark name it. */
export interface SparkFolder extends AsyncDisposable {
  /** A path or an `hdfs://` URL. */
  readonly place: string
  readonly url: string
}

/**
 * The URL by which Spark reads a place: of HDFS over WebHDFS, as this process does. Throws UsageError for a URL with what
 * Spark takes from its own configuration.
 */
export function sparkUrlOf(place: string): string {
  const parsed = parseFilesUrl(place)
  if (parsed.kind === 'local') return pathToFileURL(resolve(parsed.path)).href
  const { nameNodes, path, tokenFile } = parseWebHdfsUrl(parsed.url)
  const [{ host, port }] = nameNodes as [(typeof nameNodes)[0]]
  if (nameNodes.length > 1) {
    throw new UsageError(`${place} names two NameNodes; for Spark, name the active one`)
  }
  if (tokenFile !== undefined) {
    throw new UsageError(`${place} has a token-file, and Spark gets its tokens by its own settings`)
  }
  return `webhdfs://${host}:${port}${encodeURI(path)}`
}

/** The environment of Spark: the user of HDFS is that of the URLs. Throws UsageError where they name two. */
export function sparkUserOf(places: readonly string[]): { readonly HADOOP_USER_NAME?: string } {
  const users = new Set(
    places.flatMap((place) => {
      const parsed = parseFilesUrl(place)
      return parsed.kind === 'hdfs' ? (parseWebHdfsUrl(parsed.url).user ?? []) : []
    }),
  )
  if (users.size > 1)
    throw new UsageError(`Spark is one user of HDFS, not ${[...users].join(' and ')}`)
  const [user] = users
  return user === undefined ? {} : { HADOOP_USER_NAME: user }
}

/**
 * A folder of its own for a training below that of `--spark-folder`; it is deleted when it is disposed of. Throws UsageError
 * where Spark's machines would write on their own disks.
 */
export function sparkFolderOf(flags: Flags, id: string): SparkFolder {
  const master = flags.string('master')
  const given = flags.optional('spark-folder')
  if (given === undefined && !master.startsWith('local')) {
    throw new UsageError(
      `--master ${master} needs --spark-folder: a folder that Spark's machines and this one reach, such as hdfs://namenode:9870/tmp/weir`,
    )
  }
  const folder = given ?? join(flags.string('data-dir'), 'training')
  const place = placeInFolder(folder, `spark-${id}`)
  return { place, url: sparkUrlOf(place), [Symbol.asyncDispose]: () => removed(place) }
}

async function removed(place: string): Promise<void> {
  const parsed = parseFilesUrl(place)
  if (parsed.kind === 'local') return await rm(parsed.path, { recursive: true, force: true })
  const address = parseWebHdfsUrl(parsed.url)
  const client = new WebHdfsClient(address)
  try {
    await client.delete(address.path)
  } finally {
    client.close()
  }
}
