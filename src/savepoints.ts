/** What the package exports of savepoints: to read, change and write them in a program. */

export {
  type BootstrapData,
  BroadcastStateTransformation,
  bootstrapWith,
  KeyedStateTransformation,
  OneInputStateTransformation,
  type StateBootstrapTransformation,
} from './savepoints/bootstrap.ts'
export type { KeyChange, ValueChange } from './savepoints/entry-change.ts'
export type {
  KeyedStateReaderContext,
  KeyedStateReaderFunction,
  KeyedStateReaderOpenContext,
} from './savepoints/keyed-reader.ts'
export type { SavepointPlaceOptions } from './savepoints/place.ts'
export { type SavepointOperator, SavepointReader } from './savepoints/reader.ts'
export type { StoredWindow, WindowChange } from './savepoints/window-state.ts'
export { SavepointWriter } from './savepoints/writer.ts'
