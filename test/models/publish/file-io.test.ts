import { expect, it } from 'vitest'
import { writeModelFile } from '../../../src/models/publish/file-io.ts'
import { textOf } from '../../contracts/file-system.ts'
import { SimulatedDisk } from '../../disk/simulated-disk.ts'
import { SimulatedMount } from '../../disk/simulated-mount.ts'

const rows = [{ key: 'a-U', vector: Float32Array.of(1), ratings: 0 }]

it('a model file survives a power cut once it is written', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  await writeModelFile('/model', { dimension: 1, rows: 1 }, rows, files)
  const written = textOf(files, '/model')
  disk.powerCut('none')
  expect(disk.files()).toEqual(['/model'])
  expect(textOf(files, '/model')).toBe(written)
})

it('a model file that cannot be written leaves nothing behind', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  disk.failNextSync()
  const writing = writeModelFile('/model', { dimension: 1, rows: 1 }, rows, files)
  await expect(writing).rejects.toMatchObject({ code: 'EIO' })
  expect(disk.files()).toEqual([])
})
