import { modelReaderContract } from '../contracts/model-reader.ts'

modelReaderContract('the in-place reader', (world) => ({
  reader: world.reader(),
  close: () => {},
}))
