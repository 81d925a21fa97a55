/** What to do instead of an asynchronous function, for messages. */
export const INSTEAD_OF_PROMISES =
  'functions of operators are synchronous. For asynchronous I/O use AsyncDataStream.orderedWait or AsyncDataStream.unorderedWait'
