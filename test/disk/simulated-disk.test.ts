import { describe, expect, it } from 'vitest'
import { fileSystemContract, put, textOf } from '../contracts/file-system.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { SimulatedMount } from './simulated-mount.ts'

fileSystemContract('SimulatedDisk', async () => {
  const files = new SimulatedMount(new SimulatedDisk(1))
  files.makeFolderSync('/work')
  return { files, folder: '/work' }
})

/** A disk with a forced folder `/d`. */
function newDisk(seed = 1): { disk: SimulatedDisk; files: SimulatedMount } {
  const disk = new SimulatedDisk(seed)
  const files = new SimulatedMount(disk)
  files.makeFolderSync('/d')
  files.syncFolderSync('/')
  return { disk, files }
}

function write(files: SimulatedMount, path: string, text: string): void {
  const file = files.openSync(path, 'change')
  file.writeSync([Buffer.from(text)], 0)
  file.datasyncSync()
  file.closeSync()
}

describe('SimulatedDisk', () => {
  it('loses a file whose folder was not forced, and the bytes that were not', () => {
    const { disk, files } = newDisk()
    write(files, '/d/a', 'forced, no name')
    put(files, '/d/b', 'name, not forced')
    write(files, '/d/c', 'both')
    disk.powerCut('none')
    expect(disk.files()).toEqual([])
    write(files, '/d/c', 'both')
    put(files, '/d/b', 'name, not forced')
    files.syncFolderSync('/d')
    disk.powerCut('none')
    expect(textOf(files, '/d/c')).toBe('both')
    expect(textOf(files, '/d/b')).toBe('')
  })

  it('keeps a renamed file under one name at least', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const { disk, files } = newDisk(seed)
      files.makeFolderSync('/e')
      write(files, '/d/a', 'text')
      for (const folder of ['/', '/d', '/e']) files.syncFolderSync(folder)
      files.renameSync('/d/a', '/e/b')
      if (seed % 4 === 0) files.syncFolderSync('/d')
      if (seed % 4 === 1) files.syncFolderSync('/e')
      disk.powerCut()
      expect(disk.files().length).toBeGreaterThan(0)
      for (const path of disk.files()) expect(textOf(files, path)).toBe('text')
      if (seed % 4 === 1) expect(disk.files()).toContain('/e/b')
    }
  })

  it('keeps any subset of the writes, torn at sectors', () => {
    const found = new Set<string>()
    for (let seed = 1; seed <= 400; seed++) {
      const { disk, files } = newDisk(seed)
      write(files, '/d/a', '0'.repeat(1024))
      files.syncFolderSync('/d')
      const file = files.openSync('/d/a', 'change')
      file.writeSync([Buffer.from('1'.repeat(1024))], 0)
      file.writeSync([Buffer.from('2')], 1023)
      disk.powerCut('some')
      found.add(textOf(files, '/d/a').replaceAll(/(.)\1+/g, '$1'))
    }
    expect([...found].sort()).toEqual(['0', '01', '012', '02', '1', '10', '102', '12'])
  })

  it('forgets what a failed sync was to force, although processes still see it', async () => {
    let lost = 0
    for (let seed = 1; seed <= 50; seed++) {
      const { disk, files } = newDisk(seed)
      write(files, '/d/a', 'old')
      files.syncFolderSync('/d')
      const file = files.openSync('/d/a', 'change')
      file.writeSync([Buffer.from('new')], 0)
      disk.failNextSync()
      await expect(file.datasync()).rejects.toMatchObject({ code: 'EIO' })
      await file.datasync()
      expect(textOf(files, '/d/a')).toBe('new')
      disk.powerCut('all')
      if (textOf(files, '/d/a') === 'old') lost += 1
    }
    expect(lost).toBeGreaterThan(10)
  })

  it('runs full, with a part of the write, and recovers', () => {
    const { disk, files } = newDisk()
    put(files, '/d/a', 'abc')
    disk.full = true
    expect(() => files.openSync('/d/b', 'new')).toThrow(/ENOSPC/)
    const file = files.openSync('/d/a', 'change')
    expect(() => file.writeSync([Buffer.from('defg')], 3)).toThrow(/ENOSPC/)
    file.writeSync([Buffer.from('xyz')], 0)
    disk.full = false
    file.writeSync([Buffer.from('defg')], 3)
    expect(textOf(files, '/d/a')).toBe('xyzdefg')
  })

  it('flips a bit for good', () => {
    const { disk, files } = newDisk()
    write(files, '/d/a', 'abc')
    files.syncFolderSync('/d')
    disk.flip('/d/a', 1, 0)
    disk.powerCut()
    expect(textOf(files, '/d/a')).toBe('acc')
  })

  it('is the same disk for the same seed', () => {
    const contents = [1, 1].map(() => {
      const { disk, files } = newDisk(7)
      for (let i = 0; i < 20; i++) put(files, `/d/${i}`, `${i}`)
      disk.powerCut('some')
      return disk.files().map((path) => `${path}=${textOf(files, path)}`)
    })
    expect(contents[0]).toEqual(contents[1])
  })
})
