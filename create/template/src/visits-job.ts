import { defineJob, deserializeValue, noWatermarks, openTopics, textFormat } from '@weirjs/weir'
import { CountVisits } from './count-visits.ts'

/** A record of the topic is the name of a page. */
const pages = textFormat<string>({ id: 'page/1', parse: (text) => text, format: (page) => page })

/** Counts the visits of each page. Slot threads import this module and build the same graph. */
export default defineJob({
  name: 'visits',
  options: {
    topic: {
      type: 'string',
      default: 'visits',
      help: 'Topic of visits; a record is the name of a page',
    },
    brokers: { type: 'string', default: '', help: 'Kafka with the topic; empty: the embedded log' },
    log: {
      type: 'string',
      isLogDirectory: true,
      default: '.weir/log',
      help: 'Folder of the embedded log',
    },
  },
  async build(env, { topic, brokers, log }) {
    const topics = await openTopics(brokers === '' ? { logDirectory: log } : { kafka: { brokers } })
    try {
      env
        .fromSource(
          topics.source({ topic, deserialize: deserializeValue(pages) }),
          noWatermarks<string>(),
          'Visits',
        )
        .uid('visits')
        .keyBy((page) => page)
        .process(() => new CountVisits())
        .uid('count')
        .discard()
    } finally {
      await topics[Symbol.asyncDispose]()
    }
  },
})
