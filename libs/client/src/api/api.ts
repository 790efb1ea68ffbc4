import { endpointTable } from '@gatehouse/contracts/endpoints'
import { createCall, fillPath, type ApiOptions, type Call, type CallOptions, type ReadBody } from './call.ts'
import { ApiError } from './errors.ts'
import type { Availability, DataExport, Upload } from './records.ts'

/** `onProgress` gets the bytes received. The total is unknown. */
export type ExportOptions = CallOptions & { onProgress?: ((bytes: number) => void) | undefined }

export type Api = {
  origin: string
  /** `call('getUser', { params: { id } })` */
  call: Call
  /** Returns a refusal with a reason, such as closed registration. */
  checkUsername(username: string, options?: CallOptions): Promise<Availability>
  /** At most 8 MiB. */
  upload(file: Blob, options?: CallOptions): Promise<Upload>
  uploadUrl<T extends string | null>(filename: T): T
  exportData(body: DataExport, options?: ExportOptions): Promise<Blob>
}

export function createApi(options: ApiOptions): Api {
  const send = createCall(options)
  const call: Call = async (name, ...[input]) => send(name, input ?? {}) as never
  return {
    origin: options.origin,
    call,
    checkUsername: async (username, { signal } = {}) => {
      try {
        return await call('checkUsername', { query: { username }, signal })
      } catch (error) {
        const reason = error instanceof ApiError && error.fields['available'] === false && error.fields['reason']
        if (typeof reason !== 'string') throw error
        return { available: false, reason }
      }
    },
    upload: (file, { signal } = {}) => {
      const body = new FormData()
      body.append('file', file)
      return call('upload', { body, signal })
    },
    uploadUrl: <T extends string | null>(filename: T) =>
      (filename === null ? null : options.origin + fillPath(endpointTable.getUpload.path, { filename })) as T,
    exportData: async (body, { onProgress, signal } = {}) => {
      const read: ReadBody = (response, extend) => readParts(response, extend, onProgress)
      return (await send('exportData', { body, signal, read })) as Blob
    },
  }
}

async function readParts(response: Response, extend: () => void, onProgress?: (bytes: number) => void): Promise<Blob> {
  const parts: BlobPart[] = []
  let bytes = 0
  for (let reader = response.body?.getReader(); reader;) {
    const { value, done } = await reader.read()
    if (done) break
    parts.push(value)
    onProgress?.((bytes += value.length))
    extend()
  }
  return new Blob(parts, { type: 'application/zip' })
}
