import { userInfo } from 'node:os'
import type { World } from './world.ts'

const LOOK_MS = 5
const LIMIT_MS = 120_000

/** The files of one job's checkpoints, read from HDFS past the proxy. */
export class CheckpointFiles {
  private readonly world: World
  private readonly folder: string

  /** `folder`: that of the job's id. */
  constructor(world: World, folder: string) {
    this.world = world
    this.folder = folder
  }

  /** Resolves when a checkpoint has a manifest that had none at the call. */
  async nextManifest(): Promise<void> {
    const before = await this.checkpoints()
    await this.until(async () => {
      for (const name of await this.checkpoints()) {
        if (before.has(name)) continue
        if ((await this.names(`${this.folder}/${name}`)).includes('_metadata')) return true
      }
      return false
    })
  }

  /** Resolves when a segment is there that was not at the call. */
  async nextSegment(): Promise<void> {
    const before = new Set(await this.names(`${this.folder}/shared`))
    await this.until(async () => {
      const names = await this.names(`${this.folder}/shared`)
      return names.some((name) => !before.has(name))
    })
  }

  /** The records that a checkpoint completed. */
  async completions(): Promise<readonly string[]> {
    return (await this.names(this.folder)).filter((name) => name.includes('-completed-'))
  }

  private async checkpoints(): Promise<Set<string>> {
    return new Set((await this.names(this.folder)).filter((name) => name.startsWith('chk-')))
  }

  /** Names in a folder; none when it does not exist. */
  private async names(folder: string): Promise<string[]> {
    const query = new URLSearchParams({ op: 'LISTSTATUS', 'user.name': userInfo().username })
    const url = `http://127.0.0.1:${this.world.hdfs.httpPort()}/webhdfs/v1${folder}?${query}`
    const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) })
    if (answer.status === 404) return []
    const { FileStatuses } = (await answer.json()) as {
      FileStatuses: { FileStatus: { pathSuffix: string }[] }
    }
    return FileStatuses.FileStatus.map(({ pathSuffix }) => pathSuffix)
  }

  private async until(check: () => Promise<boolean>): Promise<void> {
    const giveUpAt = performance.now() + LIMIT_MS
    while (!(await check())) {
      if (performance.now() > giveUpAt) throw new Error(`no new checkpoint file in ${this.folder}`)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  }
}
