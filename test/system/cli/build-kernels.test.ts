import { expect, it } from 'vitest'
import { committedSource, compileKernels, generatedSource } from '../../../scripts/build-kernels.ts'

it('the committed kernels are what the assembly sources compile to', async () => {
  expect(await committedSource()).toBe(generatedSource(await compileKernels()))
})
