import { authApi, instanceApi, uploadsApi, usersApi } from './account-api.ts'
import { adminApi, invitesApi, peersApi } from './admin-api.ts'
import { createRequest } from './request.ts'
import type { RequestOptions } from './request.ts'

/** Every public endpoint of one instance. All calls take `{ signal }` last and throw the errors of `errors.ts`. */
export type Api = ReturnType<typeof createApi>

/** Makes the API of the instance at `options.origin`, speaking with the token that `options.token` gives. */
export function createApi(options: RequestOptions) {
  const request = createRequest(options)
  return {
    origin: options.origin,
    auth: authApi(request),
    users: usersApi(request),
    uploads: uploadsApi(request, options.origin),
    instance: instanceApi(request),
    invites: invitesApi(request),
    admin: adminApi(request),
    peers: peersApi(request),
  }
}
