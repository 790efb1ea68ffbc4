declare module 'cluster-key-slot' {
  /** CRC16 of the hash tag, or of the whole key. Redis cluster specification. */
  function slotOf(key: string): number
  export = slotOf
}
