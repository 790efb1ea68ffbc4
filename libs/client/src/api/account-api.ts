import { accountRows } from '@gatehouse/contracts/endpoints'
import type { Call, ReadBody } from './call.ts'
import type { CallOptions } from './options.ts'
import type * as records from './records.ts'

/** `onProgress` gets the number of bytes that have come so far; how many there will be is not known. */
export type ExportOptions = CallOptions & { onProgress?: ((bytes: number) => void) | undefined }

/** The endpoints of the own account that are called seldom. */
export type AccountApi = ReturnType<typeof createAccountApi>

/** Makes the endpoints of the own account. `createCall` is that of call.ts, as for the endpoints for admins. */
export function createAccountApi(createCall: (rows: object) => unknown) {
  const call = createCall(accountRows) as Call<keyof typeof accountRows>
  return {
    deleteFederationIdentity: (body: records.IdentityDeletionRequest, options?: CallOptions) =>
      call('deleteFederationIdentity', { body, ...options }),
    /** Ends all sessions; the token in the reply replaces every earlier one. */
    endSessions: (body: records.SessionsEnd, options?: CallOptions) => call('endSessions', { body, ...options }),
    /** The user's sockets that are open now. */
    sockets: (options?: CallOptions) => call('listSockets', { ...options }),
    /** Everything of the own account, as a ZIP archive. */
    exportData: (body: records.DataExport, { onProgress, ...options }: ExportOptions = {}): Promise<Blob> => {
      const read: ReadBody = (response, extend) => readParts(response, extend, onProgress)
      return call('exportData', { body, read, ...options } as Parameters<typeof call<'exportData'>>[1])
    },
    /** The instances to which the user's clients have connected; the reply's updatedAt is 0 while none is stored. */
    registry: (options?: CallOptions) => call('getRegistry', { ...options }),
    saveRegistry: (body: records.Registry, options?: CallOptions) => call('putRegistry', { body, ...options }),
    /** A proof for the instance at `targetDomain`, where `reattach` binds a detached account to this one. */
    attachProof: (targetDomain: string, options?: CallOptions) =>
      call('attachProof', { body: { targetDomain }, ...options }),
    reattach: (body: records.Reattachment, options?: CallOptions) => call('reattach', { body, ...options }),
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
