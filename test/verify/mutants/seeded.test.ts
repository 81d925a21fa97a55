import { describe, expect, it } from 'vitest'
import { FAULTS } from '../../../verify/faults.ts'
import { applyEdit, sourceOf } from '../../../verify/mutants/mutated-source.ts'
import { MUTANTS } from '../../../verify/mutants/seeded.ts'
import { TESTED_MUTANTS } from '../../../verify/mutants/tested.ts'

describe('the mutants of Weir', () => {
  it('are at least twelve, each with its own name and faults of the default run', () => {
    const all = [...MUTANTS, ...TESTED_MUTANTS]
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
    expect(MUTANTS.length).toBeGreaterThanOrEqual(12)
    const known = FAULTS.map(({ name }) => name)
    for (const { faults } of MUTANTS) expect(known).toEqual(expect.arrayContaining([...faults]))
  })

  it('are, among others, a checkpoint over an aborted transaction and a truncation that is ignored', () => {
    const faultsOf = (mutant: string) => MUTANTS.find(({ name }) => name === mutant)?.faults
    expect(faultsOf('completes-over-an-aborted-transaction')).toEqual(['frozen-between-records'])
    expect(faultsOf('counts-a-checkpoint-stored-too-late')).toEqual(['frozen-before-commit'])
    expect(faultsOf('ignores-a-truncation')).toEqual(['source-truncated'])
  })

  it.each([...MUTANTS, ...TESTED_MUTANTS].map((mutant) => [mutant.name, mutant] as const))(
    '%s applies to the source as it is now',
    (_, { edits }) => {
      for (const edit of edits) {
        const before = sourceOf(edit.file)
        expect(applyEdit(before, edit)).not.toBe(before)
      }
    },
  )
})
