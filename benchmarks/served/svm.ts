import { type ChildProcess, fork } from 'node:child_process'
import { WeirClient } from '../../src/client/weir-client.ts'
import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../src/core/clock.ts'
import { WeirError } from '../../src/core/errors.ts'
import { dataDirectory } from '../../src/jobs/serve/data-directory.ts'
import { publishLinear } from '../../src/kinds/linear/publish.ts'
import { GeneratedWeights } from '../../src/models/linear/model-generator.ts'

/** Options of the serving process; its first argument, as JSON. */
export interface ServedSvmPlan {
  readonly root: string
  readonly topic: string
  /** Settings beside those of every benchmark. */
  readonly configuration: Readonly<Record<string, string>>
}

/** An event of the serving process. */
export type ServedSvmEvent =
  | { readonly kind: 'live'; readonly port: number }
  | { readonly kind: 'failed'; readonly message: string }

const TOPIC = 'svm-model'
/** Features per block, the default of the commands. */
export const RANGE = 1024

/** A generated linear model that `svm-serving` serves in a separate process, and a client of it. */
export class ServedSvm implements AsyncDisposable {
  readonly client: WeirClient
  private readonly child: ChildProcess
  private readonly killAtExit: () => void

  private constructor(child: ChildProcess, client: WeirClient, killAtExit: () => void) {
    this.child = child
    this.client = client
    this.killAtExit = killAtExit
  }

  /** Publishes the model below `root` and serves it. Resolves when it is live. */
  static async start(
    root: string,
    features: number,
    configuration: Readonly<Record<string, string>> = {},
  ): Promise<ServedSvm> {
    await publish(root, features)
    const plan: ServedSvmPlan = { root, topic: TOPIC, configuration }
    const module = new URL('./svm-process.ts', import.meta.url)
    const child = fork(module, [JSON.stringify(plan)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const killAtExit = (): void => {
      child.kill('SIGKILL')
    }
    process.prependListener('exit', killAtExit)
    const client = await WeirClient.connect({ port: await portOf(child) })
    return new ServedSvm(child, client, killAtExit)
  }

  /** Runs `work` while the serving process is stopped, so that a rival has the machine to itself. */
  async whilePaused<T>(work: () => Promise<T>): Promise<T> {
    this.child.kill('SIGSTOP')
    try {
      return await work()
    } finally {
      this.child.kill('SIGCONT')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
    const exited = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.disconnect()
    await exited
    process.off('exit', this.killAtExit)
  }
}

async function publish(root: string, features: number): Promise<void> {
  const weights = new GeneratedWeights({ features })
  await using topics = new LogTopics(dataDirectory(root).log)
  await publishLinear(
    { features, intercept: 0, fill: (first, target) => weights.fill(first, target) },
    { log: topics, topic: TOPIC, version: 1, range: RANGE, clock: systemClock },
  )
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('message', (event: ServedSvmEvent) => {
      if (event.kind === 'live') resolve(event.port)
      else reject(new WeirError('ILLEGAL_STATE', event.message))
    })
    child.once('exit', () => reject(new WeirError('ILLEGAL_STATE', 'the serving process ended')))
  })
}
