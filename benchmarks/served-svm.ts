import { type ChildProcess, fork } from 'node:child_process'
import { dataDirectory } from '../src/cli/data-directory.ts'
import { WeirClient } from '../src/client/weir-client.ts'
import { LogTopics } from '../src/connectors/topics/log-topics.ts'
import { systemClock } from '../src/core/clock.ts'
import { WeirError } from '../src/core/errors.ts'
import { publishLinear } from '../src/jobs/publish-linear.ts'
import { GeneratedWeights } from '../src/models/linear-model-generator.ts'

/** How the serving process is started; the JSON text of its first argument. */
export interface ServedSvmPlan {
  readonly root: string
  readonly topic: string
}

/** Said by the serving process of itself. */
export type ServedSvmEvent =
  | { readonly kind: 'live'; readonly port: number }
  | { readonly kind: 'failed'; readonly message: string }

const TOPIC = 'svm-model'
/** Features of one block, as the commands' default. */
export const RANGE = 1024

/** A generated linear model served by `svm-serving` in a process of its own, and a client of it. */
export class ServedSvm implements AsyncDisposable {
  readonly client: WeirClient
  private readonly child: ChildProcess
  private readonly killAtExit: () => void

  private constructor(child: ChildProcess, client: WeirClient, killAtExit: () => void) {
    this.child = child
    this.client = client
    this.killAtExit = killAtExit
  }

  /** Publishes the model below `root` and serves it; resolves when it is live. */
  static async start(root: string, features: number): Promise<ServedSvm> {
    await publish(root, features)
    const plan: ServedSvmPlan = { root, topic: TOPIC }
    const module = new URL('./served-svm-process.ts', import.meta.url)
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

  /** Runs `work` while the serving process is stopped, so that it takes nothing from a rival. */
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
