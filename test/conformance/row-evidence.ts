/** Tests that show a row, beside the checks of this folder: a file, words of the title of a test in it, rows by how they begin. */
export type Evidence = readonly [file: string, title: string, rows: readonly string[]]

const reference = (name: string) => `test/reference-peer/${name}.test.ts`
const both = (name: string) => `test/federation/reference-${name}.test.ts`
const fanout = (name: string) => `services/federation-fanout/test/${name}.test.ts`
const identity = (name: string) => `services/identity/test/${name}.test.ts`
const client = (name: string) => `libs/client/src/connections/${name}.test.ts`

const offers = [
  'unknown',
  'pending',
  'awaiting_approval',
  'unreachable',
  'active, needs_attention',
  'rejected',
  'revoked',
]
const headers = ['Origin', 'Timestamp', 'Nonce', 'Signature'].map((name) => `1: 1 X-Federation-${name}`)

export const evidence: readonly Evidence[] = [
  // Peers from before a change.
  [reference('refusals'), 'only relay and sync oblige to a nonce', ['1: 0 2026-03-31']],
  [both('peering'), 'and whose admin approves, with our autoAcceptPeering', ['1: 0 2026-04-20', '1: 0 2026-04-26']],
  [fanout('sync-peer'), 'its profiles, and one that refuses to the end needs an admin', ['1: 0 2026-04-21']],
  [
    both('exchange'),
    'answers each event by its id',
    ['1: 0 2026-04-25', '1: 6 profile_update', '1: 6 friend_request_create'],
  ],
  [
    both('exchange'),
    'answers each event by its id',
    ['1: 6 create', '1: 6 dm_call_start', '1: 6 unknown types', '1: 6 relay'],
  ],
  [both('exchange'), 'its profiles and presences reach us', ['1: 0 2026-05-05']],
  [both('rows'), 'with its autoAcceptPeering', ['1: 0 2026-07-02']],
  // Conventions.
  [fanout('malformed-headers'), 'each header missing, blank, oversized, repeated or malformed', headers],
  [fanout('signed-requests'), 'are 400, 413 or 415 when their body is none', ['1: 1 Content-Type', '1: 1 body']],
  [reference('vectors'), 'answers ${request.status} to', headers],
  [fanout('vectors'), 'answers ${expected} to', headers],
  [reference('refusals'), 'allows 200 a minute for each address', ['1: 1 all routes without a limit of their own']],
  [reference('accept'), 'allows ten a minute for each address', ['1: 1 accept', '1: 2.2 400, 429']],
  [reference('refusals'), 'headers before the state, the state before the limit', ['1: 1 relay']],
  [reference('refusals'), 'limits the three lookups together', ['1: 1 lookup, by-home-id, verify-attach-proof']],
  [fanout('peer-states'), 'lookups are limited to sixty a minute', ['1: 1 lookup, by-home-id, verify-attach-proof']],
  // Peering.
  [reference('outbox'), 'names a new instance to its user: a placeholder', ['1: 2.1 pending']],
  [reference('deliveries'), 'ten in a row make a peer unreachable', ['1: 2.1 unreachable']],
  [both('exchange'), 'becomes unreachable after ten failures', ['1: 2.1 unreachable']],
  [reference('deliveries'), 'five that are refused park a peer', ['1: 2.1 needs_attention']],
  [reference('deliveries'), 'revocation tells nobody', ['1: 2.1 revoked']],
  [reference('peering'), 'lets a rejected peer come in again', ['1: 2.1 rejected']],
  [both('rows'), 'with its autoAcceptPeering', offers.map((state) => `1: 2.2 ${state}`)],
  [both('rows'), 'is answered as our own row has it', ['1: 2.2 active, needs_attention', '1: 2.2 revoked']],
  [reference('accept'), 'answers with the bodies of the page', ['1: 2.2 200', '1: 2.2 202', '1: 2.2 409']],
  [reference('refusals'), 'denied has an order of its own', ['1: 2.2 receives']],
  [
    reference('peering'),
    'takes no effect until the other side has taken it',
    ['1: 2.2 sends', '1: 6 peer/denied, sent'],
  ],
  [
    both('peering'),
    'and our admin denies: it is told',
    ['1: 2.2 sends', '1: 6 peer/denied, sent', '2: 2.3 G refuses for good'],
  ],
  [fanout('shared-limits'), 'peer/ensure: what can start no handshake', ['1: 2.2 peer/ensure', '2: 0 09-27…28']],
  [fanout('approval'), 'is decided once by many admins', ['1: 2.2 GET approval-requests']],
  [reference('offers'), 'the row is deleted, and the admin is told', ['1: 2.3 409 with', '1: 2.3 anything else']],
  [reference('offers'), '202: waits, with the token or with none', ['1: 2.3 202']],
  [reference('offers'), '200 without proof: needs attention', ['1: 2.3 another 2xx']],
  [reference('offers'), '403 with its code is final', ['1: 2.3 403 with']],
  [
    reference('offers'),
    "${answer.name} → ${status ?? 'no row'}",
    ['2xx except 202', '202', '403 with PEERING'].map(second),
  ],
  [
    reference('offers'),
    "${answer.name} → ${status ?? 'no row'}",
    ['403 with PEER_REVOKED', '409 with PEER_EXISTS'].map(second),
  ],
  [reference('offers'), "${answer.name} → ${status ?? 'no row'}", ['409 with PEER_HANDSHAKE', 'all else'].map(second)],
  [both('rows'), 'decides over our row, and whether we offer again', ['403 with PEER_REVOKED', 'all else'].map(second)],
  [reference('crossing'), 'deletes the row that a crossing offer has made active', ["1: 2.5 B's admin initiate"]],
  [
    reference('crossing'),
    'a placeholder whose 200 was lost',
    ["1: 2.5 a placeholder's offer loses", "1: 2.5 a placeholder's repetition"],
  ],
  [both('peering'), 'at our offer: the proof shows', ["1: 2.5 G's offer loses the 200"]],
  [reference('crossing'), 'two crossing offers end active with different secrets', ['1: 2.5 two B cross']],
  [both('peering'), 'ends with one secret', ['1: 2.5 G and B cross', '2: 2.3 both at once']],
  [reference('rotation'), 'changes nothing after any other answer, and tries again', ['1: 2.8 when', '1: 2.8 sender']],
  [both('exchange'), 'is rotated by us, by hand and when its days are over', ['1: 2.8 when', '1: 6 peer/rotate']],
  [reference('rotation'), 'refuses while one runs', ['1: 2.8 receiver']],
  [reference('rotation'), 'signs relay and sync with the new one', ['1: 2.8 B signs afterwards']],
  [reference('rotation'), 'takes both for 15 minutes', ['1: 2.8 B accepts afterwards']],
  [both('exchange'), 'is rotated by it: both count', ['1: 2.8 B signs afterwards', '1: 2.8 B accepts afterwards']],
  // Accounts.
  [reference('identities'), 'does nothing to a detached account', ['1: 3 200']],
  [reference('identities'), 'refuses what is missing, other modes', ['1: 3 400', '1: 3 403']],
  [fanout('signed-requests'), 'may speak for users of their own host only', ['1: 3 403']],
  [reference('identities'), 'is sent to each origin', ['1: 3 409']],
  [fanout('signed-requests'), 'name the spaces that stand in the way', ['1: 3 409']],
  [reference('accounts'), 'answers nobody in two ways', ['1: 4 users/lookup', '1: 4 users/by-home-id']],
  [
    both('exchange'),
    'look ours up by name and by id',
    ['1: 4 users/lookup', '1: 4 users/by-home-id', '1: 6 users/lookup'],
  ],
  [identity('registry'), 'takes newer lists only', ['1: 5 200', '1: 5 409', '2: 5 registry_conflict']],
  [identity('registry'), 'refuses what is no list of connections', ['1: 5 400']],
  [reference('examples'), 'deletes an identity with the 79 bytes', ['1: 8 DELETE']],
  [reference('examples'), 'denies with the 75 bytes', ['1: 8 POST']],
  // The second generation.
  [
    both('rows'),
    'with its autoAcceptPeering',
    ['none', 'pending', 'awaiting_approval', 'rejected by the other'].map(secondOffer),
  ],
  [
    both('rows'),
    'with its autoAcceptPeering',
    ['rejected without', 'rejected by the own', 'active', 'revoked'].map(secondOffer),
  ],
  [both('rows'), 'is answered as our own row has it', ['active', 'revoked'].map(secondOffer)],
  [
    both('peering'),
    'while we accept at once, with its own setting',
    ["2: 2.3 B2 offers; G proves, answers 202{T}, offers S',T"],
  ],
  [both('rows'), 'with its autoAcceptPeering', ['2: 2.3 row auto at B2', '2: 2.3 G offers, B2 on']],
  [both('peering'), 'the same secret is 200 and writes nothing', ['2: 2.3 G answers 200']],
  [both('exchange'), 'parks when it is noticed', ['2: 2.3 G lost its data and offers']],
  [client('sign-ins'), 'is given the issued one at its start', ['2: 4 client of B2, remote B1 or G', '2: 0 09-02']],
  [identity('federation-credentials'), 'is one for sixteen callers', ['2: 4 client of B2, a home without 3.1']],
  [
    client('password-propagation'),
    'sends the new password to every connected remote',
    ['2: 4 client of B1, home B2, or G with 3.1'],
  ],
  [
    client('connections'),
    'then tries login when the answer is 409',
    ['2: 4 client of B1, remote B2', '2: 5 username_taken'],
  ],
  [reference('offers'), 'the first offers the second', ['2: 4 server B1 offers']],
  [reference('offers'), 'the second offers the first', ['2: 4 server B2 offers']],
  [client('sign-ins'), 'then sets it, after a log-in with the password', ['2: 4 one person with both clients']],
  [fanout('sync-peer'), 'for what follows the last one by its id', ['2: 0 09-29…10-07']],
  [identity('register-federated'), 'only its own gate decides', ['2: 5 federated_registration_closed']],
  [
    identity('register-local'),
    'a closed gate requires an invite',
    ['2: 5 invite_required', '2: 5 registration_closed'],
  ],
  [identity('register-local'), 'an unusable invite is refused', ['2: 5 invite_invalid']],
  [identity('log-in'), 'gets the same answer for the same work', ['2: 5 invalid_credentials']],
  [identity('log-in'), 'says that an account has been deleted', ['2: 5 account_deleted']],
  [identity('change-password'), 'wants the current password of a local user', ['2: 5 current_password_incorrect']],
  [identity('delete-account'), 'requires the password of local users', ['2: 5 account_deletion_password_incorrect']],
  [identity('delete-account'), 'refuses the owner of spaces', ['2: 5 account_deletion_blocked_owned_spaces']],
  ['deploy/test/import.test.ts', 'carries over what the second generation has', ['11', '12', '13, 14'].map(migration)],
  ['deploy/test/import.test.ts', 'carries over what the second generation has', ['19, 20', '23', '25'].map(migration)],
  ['deploy/test/import.test.ts', 'names what has no place here', ['15–17', '18', '21, 22', '24', '26'].map(migration)],
  [identity('detached-accounts'), 'shows it to the account itself only', ['2: 0 10-07']],
]

/** Rows that say nothing that a program does. */
export const withoutTest: Readonly<Record<string, string>> = {
  '2: 0 07-03': 'the release that the first page describes',
  '2: 0 09-05': 'when codes came; section 5 has them, row by row',
  '2: 0 –': 'branches, which are not to be built',
}

function second(row: string): string {
  return `2: 2.2 ${row}`
}

function secondOffer(row: string): string {
  return `2: 2.1 ${row}`
}

function migration(row: string): string {
  return `2: 6 ${row}`
}
