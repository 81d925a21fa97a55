import { messageOf } from '../../src/core/errors.ts'
import { dataDirectory } from '../../src/jobs/serve/data-directory.ts'
import { serveSvmJob } from '../../src/jobs/serve/svm.ts'
import type { ServedSvmEvent, ServedSvmPlan } from './svm.ts'

/* A process that serves as `weir run svm-serving` does. It ends with the benchmark. */
const plan = JSON.parse(process.argv[2]!) as ServedSvmPlan

function send(event: ServedSvmEvent): void {
  process.send!(event)
}

const job = await serveSvmJob({
  data: dataDirectory(plan.root),
  topic: plan.topic,
  slots: 2,
  queryThreads: 2,
  port: 0,
  // The benchmark stops this process (SIGSTOP) while it measures a rival.
  configuration: {
    'heartbeat.timeout': '1 h',
    'state.backend.memory.budget': '2 gb',
    'execution.checkpointing.interval': '1 h',
    ...plan.configuration,
  },
  onLive: () => send({ kind: 'live', port: job.port }),
})
job.execution.result.catch((error: unknown) => send({ kind: 'failed', message: messageOf(error) }))
process.on('disconnect', () => process.exit(0))
