import { defineJob, MemorySource, noWatermarks, reducingState } from '../../src/index.ts'

/** Number of times that a page was opened. */
export interface Views {
  readonly page: string
  readonly views: number
}

/** Six thousand page views: 3,000 of home, 2,000 of docs, 1,000 of imprint. */
const opened: readonly Views[] = Array.from({ length: 6000 }, (_, i) => ({
  page: ['home', 'docs', 'home', 'docs', 'home', 'imprint'][i % 6]!,
  views: 1,
}))

/**
 * Adds up views per page into keyed state that clients query as VIEWS. A job for worker threads is a
 * module: each slot thread imports it and builds the same graph.
 */
export default defineJob({
  name: 'page-views',
  build(env) {
    env
      // Not bounded: the job keeps serving after it has read everything.
      .fromSource(new MemorySource<Views>([opened], { bounded: false }), noWatermarks(), 'Views')
      .uid('page-views')
      .keyBy((view) => view.page)
      .asQueryableState(
        'VIEWS',
        reducingState<Views>('views', (a, b) => ({ page: a.page, views: a.views + b.views })),
      )
      .uid('views')
  },
})
