import { access, constants, mkdir, statfs } from 'node:fs/promises'
import { ConfigurationError, type Log, type UploadStoreConfig } from '@gatehouse/service-kit'
import { createFileStore } from './file-store.ts'
import { tempUploadDir } from './upload-files.ts'
import { UploadStoreRefused, type UploadStore } from './upload-store.ts'

/** The client of S3 is loaded only for it. */
export async function openUploadStore(config: UploadStoreConfig): Promise<UploadStore> {
  if ('folder' in config) return createFileStore(config.folder)
  const { createS3Store } = await import('./s3-store.ts')
  return createS3Store(config)
}

/** A store that does not answer is waited for, not the start. Throws ConfigurationError. */
export async function openCheckedStore(config: UploadStoreConfig, log: Log): Promise<UploadStore> {
  const store = await openUploadStore(config)
  await store.check().catch((cause: unknown) => {
    if (!(cause instanceof UploadStoreRefused)) return log.warn({ err: cause }, 'the store of uploads does not answer')
    const advice = 'check the bucket, AWS_REGION, the keys and what they may do'
    throw new ConfigurationError([`UPLOAD_STORE: ${cause.message}; ${advice}`], { cause })
  })
  return store
}

/** Throws ConfigurationError. */
export async function createUploadDir(uploadDir: string): Promise<void> {
  const folder = tempUploadDir(uploadDir)
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown fault'
    const advice = 'give this process the right to, or choose another folder'
    throw new ConfigurationError([`UPLOAD_DIR: cannot write to ${uploadDir} (${reason}); ${advice}`], { cause })
  }
}

/** Bytes that this process may still write. */
export async function freeDiskBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
