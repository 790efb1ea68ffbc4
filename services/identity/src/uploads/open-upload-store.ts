import type { UploadStoreConfig } from '@gatehouse/service-kit'
import { createFileStore } from './file-store.ts'
import type { UploadStore } from './upload-store.ts'

/** The client of S3 is loaded only for it. */
export async function openUploadStore(config: UploadStoreConfig): Promise<UploadStore> {
  if ('folder' in config) return createFileStore(config.folder)
  const { createS3Store } = await import('./s3-store.ts')
  return createS3Store(config)
}
