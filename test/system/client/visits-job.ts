import { defineJob, MemorySource, type ValueState, valueState } from '../../../src/index.ts'

/** What the job keeps of a page: MessagePack with types that JSON does not have. */
export interface Visit {
  readonly count: number
  readonly last: Date
  readonly words: Map<string, number>
}

/** Counts one visit of `home`, and stays. */
export default defineJob({
  name: 'visits',
  build(env) {
    const source = new MemorySource([['home']], { bounded: false })
    env
      .fromSource(source)
      .uid('pages')
      .keyBy((page) => page)
      .process<never>(() => {
        let visit: ValueState<Visit>
        return {
          open(context) {
            visit = context.getState(valueState<Visit>('visit', { queryableName: 'VISITS' }))
          },
          processElement(page) {
            const count = (visit.value()?.count ?? 0) + 1
            visit.update({ count, last: new Date(0), words: new Map([[page, count]]) })
          },
        }
      })
      .uid('visits')
  },
})
