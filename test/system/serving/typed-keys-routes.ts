import type { ApplicationRoute } from '../../../src/index.ts'

interface Count {
  readonly count: number
}

/** Paths of an application over the states of `typed-keys-job.ts`. */
const routes: readonly ApplicationRoute[] = [
  {
    path: '/app/users/:user/windows',
    states: ['COUNTS', 'TOTALS'],
    summary: 'Share of a user in each window',
    query: { from: { type: 'integer', default: 0 } },
    async respond({ params, query }, states) {
      const user = params['user']!
      const windows: { readonly start: number; readonly share: number }[] = []
      const range = { prefix: [user], from: [user, query['from'] as number] }
      for await (const { key, value } of states.entries<[string, number], Count>('COUNTS', range)) {
        const total = await states.get<Count>('TOTALS', key[1])
        if (total !== undefined) windows.push({ start: key[1], share: value.count / total.count })
      }
      return windows.length === 0 ? undefined : { user, windows }
    },
  },
]

export default routes
