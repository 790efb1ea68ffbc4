import { endpointTable } from '@gatehouse/contracts/endpoints'
import { createCall, fillPath, type ApiOptions, type Call, type CallOptions } from './call.ts'
import { ApiError } from './errors.ts'
import type { Availability, Upload } from './records.ts'

export type Api = {
  origin: string
  /** `call('getUser', { params: { id } })` */
  call: Call
  /**
   * A path of this instance, such as an upstream's: with the token, and refusals thrown as by `call`. Reads (GET, HEAD) are
   * repeated twice where no answer came or a server was away.
   */
  fetch(path: `/${string}`, init?: RequestInit): Promise<Response>
  /** Returns a refusal with a reason, such as closed registration. */
  checkUsername(username: string, options?: CallOptions): Promise<Availability>
  /** At most 8 MiB. */
  upload(file: Blob, options?: CallOptions): Promise<Upload>
  uploadUrl<T extends string | null>(filename: T): T
}

export function createApi(options: ApiOptions): Api {
  const { send, fetch } = createCall(options)
  const call: Call = async (name, ...[input]) => send(name, input ?? {}) as never
  return {
    origin: options.origin,
    call,
    fetch,
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
  }
}
