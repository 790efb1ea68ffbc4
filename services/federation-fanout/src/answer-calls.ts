import { checkHomeEpoch, deleteIdentitiesAtPeers, lookUpByHomeId, verifyAttachProof } from '@gatehouse/contracts'
import type { Deps } from './deps.ts'
import { askByHomeId, askProof, checkHome } from './operations/ask-home.ts'
import { deleteAtPeers } from './operations/delete-at-peers.ts'

export async function answerCalls(deps: Deps): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const check = await deps.bus.respond(checkHomeEpoch, (asked, context) => checkHome(deps, { ...context, ...asked }))
  opening.use(check)
  opening.use(await deps.bus.respond(lookUpByHomeId, (asked) => askByHomeId(deps, asked)))
  opening.use(await deps.bus.respond(verifyAttachProof, (asked) => askProof(deps, asked)))
  const deletion = await deps.bus.respond(deleteIdentitiesAtPeers, async (asked, { requestId }) => ({
    results: await deleteAtPeers(deps, { ...asked, requestId }),
  }))
  opening.use(deletion)
  return opening.move()
}
