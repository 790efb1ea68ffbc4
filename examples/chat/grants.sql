-- What the example may do in Gatehouse's database, as a role of its own:
--   create role gatehouse_chat login password '…';
-- Run by the owner of the schema, after its migrations. `npm run example` does both.
grant select (id, username, display_name, avatar_color, is_deleted) on users to gatehouse_chat;
-- PostgreSQL asks for UPDATE of some column where a row is locked: an author who is being deleted writes nothing any more.
grant update (status) on users to gatehouse_chat;
grant select, insert, delete on spaces to gatehouse_chat;
grant select, insert on space_members, channels to gatehouse_chat;
grant select, insert, delete on messages to gatehouse_chat;
grant select on bans to gatehouse_chat;
-- For next_snowflake().
grant select (id, worker_id) on instance_settings to gatehouse_chat;
grant usage on sequence snowflake_sequence to gatehouse_chat;
