import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { singleJobCluster } from '../../../../src/cluster/rest/job/single-job-cluster.ts'
import { JobProcess } from '../../../../src/cluster/scale-out/job-process.ts'
import { HttpPeers } from '../../../../src/cluster/scale-out/operations/ask-peers.ts'
import { ScaledJobControl } from '../../../../src/cluster/scale-out/operations/scaled-job-control.ts'
import { StopRecords } from '../../../../src/cluster/scale-out/operations/stop-records.ts'
import { scaledJobId } from '../../../../src/cluster/scale-out/partition-execution.ts'
import { restWay } from '../../../../src/cluster/scale-out/peers/peer-address.ts'
import { MemorySource } from '../../../../src/connectors/memory/source.ts'
import { systemClock } from '../../../../src/core/clock.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { StreamExecutionEnvironment } from '../../../../src/dataflow/stream-execution-environment.ts'
import { AccessControl, shareAccess } from '../../../../src/http/access/control.ts'
import { DiscardingSink } from '../../../../src/operators/basic/discarding-sink.ts'
import { createLocalJob } from '../../../../src/runtime/job/local-executor.ts'
import { SimulatedCoordinator } from '../../../connectors/kafka/group/simulated-coordinator.ts'
import { fakeApp } from '../../rest/fake-cluster.ts'

/** Number of job partitions of these tests. */
export const PARTITIONS = 6
/** Token that every process asks for, and has. */
export const TOKEN = 'the-token-of-all-processes'
const APPLICATION = 'counts'
const JOB = {
  fingerprint: 'f'.repeat(32),
  storageId: 'a'.repeat(32),
  cluster: 'kafka',
  partitions: PARTITIONS,
  maxParallelism: 128,
}

/** One process of the job with its REST interface. */
export interface Started {
  readonly process: JobProcess
  readonly control: ScaledJobControl
  readonly tokenFile: string
  /** URL of its REST interface. */
  readonly url: string
  /** Closes its REST interface; the process goes on. */
  closeRest(): Promise<unknown>
}

/** Processes of one job in a simulated group, each with a REST interface on a port of this machine. */
export class Processes {
  readonly jobId = scaledJobId(APPLICATION)
  readonly records: StopRecords
  /** File with the token, for commands. */
  readonly tokenFile: string
  private readonly coordinator = new SimulatedCoordinator(systemClock)
  private started = 0

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'weir-operations-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    this.tokenFile = join(folder, 'token')
    writeFileSync(this.tokenFile, TOKEN)
    this.records = new StopRecords(folder, APPLICATION)
  }

  /** Starts a process. `hears`: whether the others know its REST interface. */
  async start({ hears = true }: { readonly hears?: boolean } = {}): Promise<Started> {
    const number = ++this.started
    const control = new ScaledJobControl({
      ...{ jobId: this.jobId, name: APPLICATION, partitions: PARTITIONS, configuration: {} },
      ...{ version: '1', slots: 2, startedMs: systemClock.nowMs(), clock: systemClock },
      records: this.records,
      newId: () => String(number).padStart(16, '0'),
      peers: new HttpPeers({
        ...{ jobId: this.jobId, token: TOKEN, tls: () => undefined, actionMs: 60_000 },
        // A busy machine may let a process wait for longer than users do.
        reportMs: 60_000,
      }),
    })
    const cluster = {
      ...singleJobCluster({ version: '1', job: control, configuration: {}, queryPort: undefined }),
      ownJobs: async () => [await control.ownSnapshot()],
    }
    const access = new AccessControl(shareAccess([], TOKEN), systemClock)
    const app = await fakeApp(cluster, { access, clock: systemClock })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const process = this.join(control, { number, address: hears ? restWay(url, true) : '' })
    control.attach(process, url)
    onTestFinished(async () => {
      await process.leave().catch(() => undefined)
      await app.close()
    })
    const { tokenFile } = this
    return { process, control, tokenFile, url, closeRest: () => app.close() }
  }

  private join(
    control: ScaledJobControl,
    { number, address }: { readonly number: number; readonly address: string },
  ): JobProcess {
    const member = this.coordinator.member({
      ...{ groupId: APPLICATION, sessionTimeoutMs: 60_000, heartbeatIntervalMs: 10 },
    })
    return new JobProcess({
      ...{ member, job: JOB, address, capacity: 2, version: '1', topics: [] },
      create: async () => {
        await control.requireGoesOn()
        const env = new StreamExecutionEnvironment()
        env.fromSource(new MemorySource([[1]], { bounded: false })).sinkTo(new DiscardingSink())
        return createLocalJob({ graph: env.graph() })
      },
      ...{ random: seededRandom(number), clock: systemClock, heartbeatMs: 10, graceMs: 60_000 },
      listener: () => undefined,
    })
  }
}
