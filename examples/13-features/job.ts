import {
  boundedOutOfOrderness,
  defineJob,
  deserializeValue,
  jsonFormat,
  LogSource,
} from '../../src/index.ts'
import { FEATURES, type Purchase } from './features.ts'

/** Keeps the features of each user, which clients query as USERS. */
export default defineJob({
  name: 'features',
  options: { directory: { type: 'string', help: 'Folder of the log.' } },
  build(env, { directory }) {
    const source = new LogSource<Purchase>({
      ...{ directory, topic: 'purchases' },
      deserialize: deserializeValue(jsonFormat<Purchase>()),
    })
    env
      .fromSource(source, boundedOutOfOrderness<Purchase>(60_000, { timestampOf: (p) => p.time }))
      .uid('purchases')
      .keyBy(({ user }) => user)
      .features(FEATURES)
      // These purchases are of the past. Without the option, features are those of the wall clock.
      .asQueryableState('USERS', { readAt: 'event-time' })
      .uid('users')
  },
})
