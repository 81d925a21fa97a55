import { dataDirectory } from '../src/cli/data-directory.ts'
import { serveSvm } from '../src/cli/serve-svm.ts'
import { messageOf } from '../src/core/errors.ts'
import type { ServedSvmEvent, ServedSvmPlan } from './served-svm.ts'

/* What `weir run svm-serving` does, in a process that ends with the benchmark. */
const plan = JSON.parse(process.argv[2]!) as ServedSvmPlan

function tell(event: ServedSvmEvent): void {
  process.send!(event)
}

const job = await serveSvm({
  data: dataDirectory(plan.root),
  topic: plan.topic,
  slots: 2,
  queryThreads: 2,
  host: '127.0.0.1',
  port: 0,
  // The benchmark stops this process while it measures a rival.
  configuration: {
    'heartbeat.timeout': '1 h',
    'state.backend.memory.budget': '2 gb',
    'execution.checkpointing.interval': '1 h',
  },
  onLive: () => tell({ kind: 'live', port: job.port }),
})
job.execution.result.catch((error: unknown) => tell({ kind: 'failed', message: messageOf(error) }))
process.on('disconnect', () => process.exit(0))
