import { Migration } from '@mikro-orm/migrations'

/** Accounts registered after a peer's reset are not those of the old instance. */
export class Migration20261123PeerResets extends Migration {
  override up(): void {
    this.addSql('alter table peer_resets add column seen_at timestamptz')
  }
}
