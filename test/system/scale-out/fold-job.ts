import { defineJob } from '../../../src/index.ts'
import kafkaFold from '../kafka/fold/job.ts'

/** The fold of operations by key, with options of a command line. */
export default defineJob({
  name: 'scale-out-fold',
  options: {
    brokers: { type: 'string', help: 'Kafka.' },
    input: { type: 'string', help: 'Topic of the operations.' },
    output: { type: 'string', help: 'Topic of the results.' },
  },
  build: (env, options) => kafkaFold.build(env, options),
})
