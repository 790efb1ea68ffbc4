/** Rows for each thousand accounts, where they are not 100; work that is done soon has none. */
const shares: Readonly<Record<string, number>> = {
  users: 1000,
  audit_log: 1000,
  sign_ins: 1000,
  replica_hosts: 500,
  peers: 10,
  peer_resets: 1,
  approval_requests: 10,
  passkeys: 10,
  second_factors: 10,
  deletion_orders: 1,
  presences: 0,
  presence_changes: 0,
  outbox: 0,
  file_removals: 0,
  federation_deliveries: 0,
  federation_limits: 1,
  federation_nonces: 10,
  signing_networks: 1,
  attach_proofs: 0,
  passkey_challenges: 0,
}

/** How many rows each table has at so many accounts. */
export const rowsAt =
  (accounts: number) =>
  (table: string): number =>
    Math.ceil(((shares[table] ?? 100) * accounts) / 1000)
