-- The events of a batch, with their bodies, as a consumer wants them. $1 batch
SELECT ev_extra1, ev_id, ev_type, ev_data FROM pgq.get_batch_events($1::bigint)
