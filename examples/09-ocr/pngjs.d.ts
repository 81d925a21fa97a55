/** The part of pngjs that the example uses; the package has no types. */
declare module 'pngjs' {
  export const PNG: {
    readonly sync: {
      /** Decodes a PNG into rows of red, green, blue and alpha bytes. */
      read(bytes: Uint8Array): {
        readonly width: number
        readonly height: number
        readonly data: Uint8Array
      }
    }
  }
}
