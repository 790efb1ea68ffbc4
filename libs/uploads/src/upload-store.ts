import type { Readable } from 'node:stream'
import { Unavailable } from '@gatehouse/runtime'

/** Both included. */
export type ByteRange = { start: number; end: number }

/** `size` is that of the whole. Whoever opens it reads the content to its end, or destroys it. */
export type OpenUpload = { size: number; content: Readable }

/**
 * Where uploads are, by their names. A name has all of its content or none, and never gets other content. Each method
 * may throw UploadStoreUnavailable. Contract: 8, UPLOAD_STORE.
 */
export type UploadStore = {
  /** For people, without secrets. */
  readonly name: string
  /** Throws UploadStoreRefused when the setting is wrong. */
  check(): Promise<void>
  /** Null for names that are none, folders and links too. */
  find(name: string): Promise<{ size: number } | null>
  open(name: string, range?: ByteRange): Promise<OpenUpload | null>
  /** The file may be gone afterwards. */
  put(name: string, path: string): Promise<void>
  /** What is not there is removed already. */
  remove(name: string): Promise<void>
  list(): AsyncGenerator<{ name: string; size: number }>
}

/** Answered with 503. */
export class UploadStoreUnavailable extends Unavailable {
  override readonly name: string = 'UploadStoreUnavailable'
}

/** Trying again is of no use. */
export class UploadStoreRefused extends UploadStoreUnavailable {
  override readonly name = 'UploadStoreRefused'
}
